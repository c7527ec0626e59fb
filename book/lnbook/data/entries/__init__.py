"""The data sets themselves, a module for each kind: their files, hashes, addresses and licences."""
