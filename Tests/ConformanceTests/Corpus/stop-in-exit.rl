topic stop
title stop in exit is forgotten with the run
observer O exit
source0 S
on O #1: stop
add O default; add S default
run default 0.02 no
run default 0.02 no
--- golden
run default
observer O exit mode=default
ran default TIMEDOUT
run default
observer O exit mode=default
ran default TIMEDOUT
end
