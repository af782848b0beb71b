topic mutate
title A timer callback empties the mode
slow 2
trace callouts
timer T delay=20 interval=30
source0 S
source1 P
on T: remove T default; remove S default; remove P default
add T default; add S default; add P default
run default 1 no
--- golden
run default
timer T mode=default
ran default FINISHED
end
