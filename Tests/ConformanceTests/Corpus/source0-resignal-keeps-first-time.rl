topic source0
title Signalling again before being performed does not move it back nor perform it twice
trace callouts
source0 A
source0 B
add A default; add B default
signal A; sleep 2; signal B; sleep 2; signal A
run default 0.03 no
--- golden
run default
source0 A mode=default
source0 B mode=default
ran default TIMEDOUT
end
