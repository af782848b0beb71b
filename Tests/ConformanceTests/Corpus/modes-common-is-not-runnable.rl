topic modes
title The common pseudo mode cannot be run
source0 S
timer T delay=10
add S common; add T common
run common 1 no
run common-copy 1 no
run default 0.04 no
--- golden
run common
ran common FINISHED
run common-copy
ran common-copy FINISHED
run default
timer T mode=default
ran default TIMEDOUT
end
