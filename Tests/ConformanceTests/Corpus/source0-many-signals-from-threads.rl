topic source0
title Several signals before the loop looks are merged
slow 2
trace callouts
source0 S
at 40: signal S; signal S; signal S; wake
add S default
run default 0.08 no
count S
--- golden
run default
source0 S mode=default
ran default TIMEDOUT
count S = 1
end
