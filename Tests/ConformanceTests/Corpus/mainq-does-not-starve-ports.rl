topic mainq
title The main queue and a port take turns; the port was pending first because the queue joins the wait set late
flags quirk
thread main:
block M
source1 P
on M #1: async M
on M #2: async M
on M #3: async M
on P: note port
add P default
async M; write P
run default 0.06 no
count M
--- golden
run default
source1 P mode=default
note port
mainq M mode=default
mainq M mode=default
mainq M mode=default
mainq M mode=default
ran default TIMEDOUT
count M = 4
end
