topic common
title A mode made common later receives the existing common items
slow 2
trace callouts
timer T delay=40 interval=80
source0 K sched
add K common; add T common
modes
addcommon tracking
modes
contains T tracking; contains K tracking
run default 0.08 no
run tracking 0.08 no
--- golden
schedule K mode=default loop=A
modes = default
schedule K mode=tracking loop=A
modes = default,tracking
contains T tracking = yes
contains K tracking = yes
run default
timer T mode=default
ran default TIMEDOUT
run tracking
timer T mode=tracking
ran tracking TIMEDOUT
end
