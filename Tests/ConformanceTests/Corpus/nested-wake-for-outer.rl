topic nested
title A wake meant for the outer run, taken by a run nested in before-waiting, still wakes the outer
flags linux-bug timing
slow 2
observer O before-waiting
source0 S
source0 K
block B
at 60: note signal; signal S; perform B default; wake
on O #1: run m1 0.2 no; note back
add O default; add S default; add K m1
run default 0.6 no stamp
--- golden
run default
observer O before-waiting mode=default
run m1
ext: note signal
ran m1 TIMEDOUT
note back
block B mode=default
ran default TIMEDOUT at=600
end
--- right
run default
observer O before-waiting mode=default
run m1
ext: note signal
ran m1 TIMEDOUT
note back
block B mode=default
source0 S mode=default
observer O before-waiting mode=default
ran default TIMEDOUT at=600
end
