topic nested
title A block for the outer mode queued during the nested run waits for the outer
trace callouts
timer T delay=20
block B
source0 K
on T: perform B default; run m1 0.03 no; note back
add T default; add K m1
run default 1 no
--- golden
run default
timer T mode=default
run m1
ran m1 TIMEDOUT
note back
block B mode=default
ran default FINISHED
end
