topic pattern
title A run limited by a port reply or a time limit, whichever is first
flags timing
slow 2
source1 P
at 60: write P
add P default
run default 1 yes stamp
run default 0.1 yes stamp
--- golden
run default
source1 P mode=default
ran default HANDLED at=50
run default
ran default TIMEDOUT at=150
end
