"""Cassettes as files: readable, whole or not at all, and a damaged one says where."""

import json
import os
from pathlib import Path

import pytest

import limen
from limen.recording import (
    SCHEMA_VERSION,
    Cassette,
    CassetteWriter,
    Exchange,
    Read,
    RecordedRequest,
    RecordedResponse,
    decode_cassette,
    encode_cassette,
)
from limen.recording import _cassette as module


def exchange(number: int = 1, *reads: str) -> Exchange:
    """An exchange with these reads."""
    return Exchange(
        limen="0.1.0",
        route="route",
        model="model-1",
        wire="openai-chat",
        dialect="generic",
        request=RecordedRequest("POST", "/v1/chat/completions", {"accept": "*/*"}, json={"number": number}),
        response=RecordedResponse(
            200, 1.5, {"content-type": "text/event-stream"}, [Read(float(at), data) for at, data in enumerate(reads, 2)]
        ),
        ended_ms=9.25,
    )


def test_a_cassette_reads_back_equal(tmp_path: Path) -> None:
    """What was written is what is read, in the order of the exchanges."""
    cassette = Cassette([exchange(1, "a", "b"), exchange(2), exchange(3, "é\ud83d")])
    cassette.save(tmp_path / "deep" / "calls.json")

    assert Cassette.load(tmp_path / "deep" / "calls.json").exchanges == cassette.exchanges
    assert Cassette().exchanges == ()


def test_a_cassette_has_one_form() -> None:
    """The released form of version 2, indented for a diff; absent fields are left out."""
    bare = Exchange(
        limen="0.1.0", route="r", model="m", request=RecordedRequest("GET", "/x", text="no json"), ended_ms=1.0
    )
    assert encode_cassette([exchange(1, "data: x\n\n"), bare]).decode() == (
        """{
 "schemaVersion": 2,
 "exchanges": [
  {
   "limen": "0.1.0",
   "route": "route",
   "model": "model-1",
   "wire": "openai-chat",
   "dialect": "generic",
   "request": {
    "method": "POST",
    "path": "/v1/chat/completions",
    "headers": {
     "accept": "*/*"
    },
    "json": {
     "number": 1
    }
   },
   "response": {
    "status": 200,
    "atMs": 1.5,
    "headers": {
     "content-type": "text/event-stream"
    },
    "reads": [
     {
      "atMs": 2.0,
      "data": "data: x\\n\\n"
     }
    ]
   },
   "endedMs": 9.25
  },
  {
   "limen": "0.1.0",
   "route": "r",
   "model": "m",
   "request": {
    "method": "GET",
    "path": "/x",
    "text": "no json"
   },
   "endedMs": 1.0
  }
 ]
}
"""
    )


def test_every_byte_survives(tmp_path: Path) -> None:
    """A read may hold any bytes, half a character too, and gives them back."""
    raw = [bytes(range(256)), "é".encode()[:1], "é".encode()[1:], b"\xed\xa0\x80", b""]
    CassetteWriter(tmp_path / "calls.json").add(exchange(1, *(module.to_text(data) for data in raw)))

    response = Cassette.load(tmp_path / "calls.json").exchanges[0].response
    assert response is not None
    assert [read.raw for read in response.reads] == raw
    assert response.body == b"".join(raw)


def test_a_file_grows_by_whole_exchanges(tmp_path: Path) -> None:
    """Each addition rewrites the file whole; a later writer keeps what is there."""
    path = tmp_path / "calls.json"
    CassetteWriter(path).add(exchange(1))
    writer = CassetteWriter(path)
    writer.add(exchange(2))
    writer.add(exchange(3))

    assert Cassette.load(path).exchanges == (exchange(1), exchange(2), exchange(3))
    assert [file.name for file in tmp_path.iterdir()] == ["calls.json"]


def test_a_folder_grows_by_files(tmp_path: Path) -> None:
    """The next number is one above the highest; files that are no exchange of ours are left alone."""
    folder = tmp_path / "calls"
    CassetteWriter(folder).add(exchange(1))
    (folder / "0041.json").write_bytes(encode_cassette([exchange(41)]))
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    CassetteWriter(folder).add(exchange(42))

    assert sorted(file.name for file in folder.iterdir()) == ["0001.json", "0041.json", "0042.json", "notes.txt"]
    assert Cassette.load(folder).exchanges == (exchange(1), exchange(41), exchange(42))


def test_a_crash_while_writing_loses_the_exchange_in_flight_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the write stops half-way, the file is what it was before, and nothing else is left."""
    path = tmp_path / "calls.json"
    writer = CassetteWriter(path)
    writer.add(exchange(1))

    def crash(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no space"):
        writer.add(exchange(2))

    assert Cassette.load(path).exchanges == (exchange(1),)
    assert [file.name for file in tmp_path.iterdir()] == ["calls.json"]


def fault_of(path: Path) -> str:
    with pytest.raises(limen.LlmError) as refusal:
        Cassette.load(path)
    assert refusal.value.code == "INVALID_CONFIG"
    return refusal.value.failure.message.removeprefix(f"{path} cannot be read as a cassette: ")


def test_a_damaged_file_says_where(tmp_path: Path) -> None:
    """The message has the file's name, and the byte or the JSON path where it is wrong."""
    path = tmp_path / "calls.json"
    whole = encode_cassette([exchange(1, "a"), exchange(2, "b")])
    document = json.loads(whole)
    document["exchanges"][1]["response"]["reads"][0]["data"] = 7

    path.write_bytes(whole[:500])
    assert fault_of(path) == "it is damaged at line 30, column 3: Input data was truncated"
    path.write_bytes(whole.replace(b'"route"', b'route"', 1))
    assert fault_of(path) == "it is damaged at line 6, column 4: JSON is malformed: expected '\"' (byte 67)"
    path.write_bytes(whole.replace(b"POST", b"P\xff"))
    assert fault_of(path).startswith("it is damaged at line 11: ")
    path.write_bytes(whole.replace(b"9.25", b"NaN"))
    assert fault_of(path).startswith("it is damaged: ")
    path.write_text(json.dumps(document), encoding="utf-8")
    assert fault_of(path) == (
        "it is JSON, but no cassette: Expected `str`, got `int` - at `$.exchanges[1].response.reads[0].data`"
    )
    path.write_bytes(b"[" * 100_000)
    assert fault_of(path) == "it is damaged: JSON is nested deeper than 132 levels"
    path.write_text("[]", encoding="utf-8")
    assert fault_of(path) == "it is JSON, but no cassette: Expected `object`, got `array`"
    assert fault_of(tmp_path / "none.json") == "No such file or directory"


@pytest.mark.parametrize("version", [1, 3, "2", 2.0, True, None])
def test_another_version_is_not_guessed_at(version: object) -> None:
    """Only version 2 is read; the refusal names the version that was found."""
    assert SCHEMA_VERSION == 2
    with pytest.raises(limen.LlmError, match=r"its schemaVersion is .*, and 2 is what this limen reads"):
        decode_cassette(json.dumps({"schemaVersion": version, "exchanges": []}).encode(), "calls.json")


def test_a_field_of_a_later_limen_is_ignored() -> None:
    """A field that is added later does not make an older limen fail."""
    document = json.loads(encode_cassette([exchange(1)]))
    document["later"] = document["exchanges"][0]["later"] = {"x": 1}
    assert decode_cassette(json.dumps(document).encode(), "calls.json") == (exchange(1),)


def test_a_bad_file_in_a_folder_is_named(tmp_path: Path) -> None:
    """Of a folder, the file that is damaged is told."""
    CassetteWriter(tmp_path).add(exchange(1))
    (tmp_path / "0002.json").write_text("{", encoding="utf-8")
    with pytest.raises(limen.LlmError, match=r"0002\.json cannot be read as a cassette: it is damaged"):
        Cassette.load(tmp_path)
