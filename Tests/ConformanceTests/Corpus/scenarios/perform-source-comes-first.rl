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
