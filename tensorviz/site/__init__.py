"""A folder of notebooks as a static site, in which every stepper works with no kernel and no network. For the command line only."""
