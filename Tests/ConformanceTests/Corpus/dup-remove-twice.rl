topic dup
title Removing twice, or what was never added, does nothing
source0 S sched
observer O all
timer T delay=100
source1 P
remove S default; remove O default; remove T default; remove P default
add S default; remove S default; remove S default
contains S default
--- golden
schedule S mode=default loop=A
cancel S mode=default loop=A
contains S default = no
end
