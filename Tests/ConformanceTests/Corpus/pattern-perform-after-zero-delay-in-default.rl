topic pattern
title A zero-delay perform limited to the default mode waits for the tracking run to end
trace callouts
timer D delay=0
source0 K
add D default; add K tracking; add K default
run tracking 0.06 no
run default 0.03 no
--- golden
run tracking
ran tracking TIMEDOUT
run default
timer D mode=default
ran default TIMEDOUT
end
