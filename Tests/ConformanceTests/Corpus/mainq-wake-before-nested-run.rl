topic mainq
title A wake of a pass that goes to the main queue directly is taken by the run nested in the queue's function
flags timing
slow 2
observer O before-timers quiet
observer N before-waiting|after-waiting
block B
source0 K
on O #2: async B; wake
on B: run m1 0.2 no; note back
thread main:
add O default; add N default; add N m1; add K m1
at 60: wake
run default 0.5 no stamp
--- golden
run default
observer N before-waiting mode=default
observer N after-waiting mode=default
mainq B mode=default
run m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
ran m1 TIMEDOUT
note back
observer N before-waiting mode=default
observer N after-waiting mode=default
ran default TIMEDOUT at=500
end
