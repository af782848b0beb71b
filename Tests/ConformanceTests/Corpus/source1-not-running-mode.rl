topic source1
title A port of another mode does not wake the loop
slow 2
trace callouts
source1 P
source0 K
at 30: write P
add P m1; add K default
run default 0.08 no
run m1 0.03 no
--- golden
run default
ran default TIMEDOUT
run m1
source1 P mode=m1
ran m1 TIMEDOUT
end
