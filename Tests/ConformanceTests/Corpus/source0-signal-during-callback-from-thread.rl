topic source0
title A signal from another thread during the callback performs it again
slow 2
trace callouts
source0 S
at 60: signal S; wake
on S #1: busy 100
add S default; signal S
run default 0.2 no
count S
--- golden
run default
source0 S mode=default
source0 S mode=default
ran default TIMEDOUT
count S = 2
end
