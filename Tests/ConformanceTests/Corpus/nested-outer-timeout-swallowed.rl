topic nested
title The outer limit passes during a nested run in a before-waiting observer: the inner run consumes the wakeup and the outer sleeps on
flags linux-bug timing
slow 2
observer O before-waiting
source0 K
at 410: note rescue; wake
on O #1: run m1 0.21 no
add O default; add K default; add K m1
run default 0.11 no stamp
--- golden
run default
observer O before-waiting mode=default
run m1
ran m1 TIMEDOUT
ext: note rescue
ran default TIMEDOUT at=400
end
--- right
run default
observer O before-waiting mode=default
run m1
ran m1 TIMEDOUT
ran default TIMEDOUT at=200
end
