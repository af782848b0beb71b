topic pattern
title Perform on the loop's own thread while running nested until done
trace callouts
block W
source0 K
timer T delay=20
on T: perform W default; run default 0 no; note waited
add K default; add T default
run default 0.06 no
--- golden
run default
timer T mode=default
run default
block W mode=default
ran default TIMEDOUT
note waited
ran default TIMEDOUT
end
