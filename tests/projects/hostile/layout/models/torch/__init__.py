raise RuntimeError("this is not the installed package")
