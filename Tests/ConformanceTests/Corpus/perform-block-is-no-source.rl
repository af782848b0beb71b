topic perform
title A block that another thread queues, and a wake, do not end such a run
thread A:
source1 P
block B
block K
add P default
at 60 : perform B default ; wake
at 160 : performsource K default
run default 1 yes stamp
--- right
run default
block B mode=default
block K mode=default
ran default HANDLED at=150
end
