topic perform
title Where one source ends the run, a perform is the first of them; else all are performed
source1 P
source0 S
block K
block L
add P default ; add S default
signal S ; performsource K default
run default 0.1 yes
signalled S
run default 0.1 yes
signal S ; performsource L default
run default 0 no
signalled S
--- right
run default
block K mode=default
ran default HANDLED
signalled S = yes
run default
source0 S mode=default
ran default HANDLED
run default
block L mode=default
source0 S mode=default
ran default TIMEDOUT
signalled S = no
end
