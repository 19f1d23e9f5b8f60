"""Names as compilers mangle them (Itanium C++ ABI), and the names that programmers wrote."""
