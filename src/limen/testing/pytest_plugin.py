"""The pytest plugin: fixtures and one test a rule; the only file that imports pytest."""
