topic source1
title A port source in two loops: each write is served exactly once
slow 2
source1 P quiet
source0 K
thread A:
spawn B
add P default
at 40: write P
at 90: write P
at 140: write P
run default 0.2 no
join B
count P
thread B:
add P default
run default 0.2 no quiet
--- golden
run default
ran default TIMEDOUT
count P = 3
end
