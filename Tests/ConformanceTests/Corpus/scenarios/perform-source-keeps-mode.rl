topic perform
title A perform keeps its modes from being finished until it has run, and not longer
block K
block L
performsource K m1,m2
finished m1
finished m2
run m1 1 no
finished m1
finished m2
performsource L common
finished default
run m1 1 no
run default 1 yes
finished default
