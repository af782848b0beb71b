topic block
title A block queued by another thread during a drain waits for the next one
slow 2
trace callouts
block B1
block B2
source0 K
at 60: perform B2 default; note queued
at 200: note waking; wake
on B1: busy 120; note b1-done
add K default; perform B1 default
run default 0.26 no
--- golden
run default
block B1 mode=default
ext: note queued
note b1-done
ext: note waking
block B2 mode=default
ran default TIMEDOUT
end
