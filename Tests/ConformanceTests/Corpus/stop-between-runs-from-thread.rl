topic stop
title A stop between two runs is forgotten
slow 2
trace callouts
source0 K
at 100: stop; note stopped
add K default
run default 0.04 no
sleep 120
run default 0.04 no
--- golden
run default
ran default TIMEDOUT
ext: note stopped
run default
ran default TIMEDOUT
end
