topic mainq
title Several functions sent to the main queue are served together
thread main:
block M1
block M2
async M1; async M2
run default 0.05 no
--- golden
run default
mainq M1 mode=default
mainq M2 mode=default
ran default TIMEDOUT
end
