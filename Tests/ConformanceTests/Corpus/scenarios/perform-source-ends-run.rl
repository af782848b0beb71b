topic perform
title A perform that another thread posts as a source ends a run that returns after a source
thread A:
source1 P
observer O all
block K
add P default ; add O default
at 60 : performsource K default
run default 1 yes stamp
