"""HTTP: the parameters of a request, packed answers, and the files of the tab's bundle."""
