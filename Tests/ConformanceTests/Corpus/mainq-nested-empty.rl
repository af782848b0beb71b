topic mainq
title Inside a main-queue function the default mode of the main loop can be empty
thread main:
block M
on M: finished default; run default 1 no
async M
finished default
run default 0.05 no
--- golden
finished default = no
run default
mainq M mode=default
finished default = yes
run default
ran default FINISHED
ran default TIMEDOUT
end
