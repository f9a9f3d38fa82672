"""A package to be started as `rankinit -m package.share`."""
