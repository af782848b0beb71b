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
--- right
finished m1 = no
finished m2 = no
run m1
block K mode=m1
ran m1 FINISHED
finished m1 = yes
finished m2 = yes
finished default = no
run m1
ran m1 FINISHED
run default
block L mode=default
ran default HANDLED
finished default = yes
end
