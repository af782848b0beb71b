topic source0
title The signal is kept by the source: signalled first, added later
trace callouts
source0 S
signal S
add S default
run default 0.03 no
--- golden
run default
source0 S mode=default
ran default TIMEDOUT
end
