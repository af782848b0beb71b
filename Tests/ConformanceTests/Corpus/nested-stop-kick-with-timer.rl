topic nested
title The kick of an enclosing run's stop is taken with the timer that is due
flags quirk timing
slow 2
observer O before-waiting
observer N all
timer T delay=20
source0 K
on O #1: stop; busy 60; run m1 0.2 no; note back
add O default; add N m1; add T m1; add K m1; add K default
run default 0.6 no stamp
--- golden
run default
observer O before-waiting mode=default
run m1
observer N entry mode=m1
observer N before-timers mode=m1
observer N before-sources mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
observer N before-timers mode=m1
observer N before-sources mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
timer T mode=m1
observer N before-timers mode=m1
observer N before-sources mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
observer N exit mode=m1
ran m1 TIMEDOUT
note back
ran default TIMEDOUT at=600
end
--- right
run default
observer O before-waiting mode=default
run m1
observer N entry mode=m1
observer N before-timers mode=m1
observer N before-sources mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
timer T mode=m1
observer N before-timers mode=m1
observer N before-sources mode=m1
observer N before-waiting mode=m1
observer N after-waiting mode=m1
observer N exit mode=m1
ran m1 TIMEDOUT
note back
ran default TIMEDOUT at=600
end
