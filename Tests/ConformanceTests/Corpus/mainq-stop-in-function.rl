topic mainq
title stop in a main-queue function
thread main:
block M
on M: stop
async M
run default 2 no
--- golden
run default
mainq M mode=default
ran default STOPPED
end
