topic pattern
title A cancelled delayed perform
slow 2
timer D delay=40 ctx
source0 K
add D default; add K default
at 20: invalidate D; note cancelled
run default 0.08 no
--- golden
retain D
run default
ext: release D
ext: note cancelled
ran default TIMEDOUT
end
