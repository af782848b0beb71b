topic observer
title An observer belongs to one loop
slow 2
observer O entry|exit
source0 S
thread A:
add O default
spawn B
join B
add S default
run default 0.02 no
thread B:
add O default
contains O default
add S default
run default 0.02 no
--- golden
B: contains O default = no
B: run default
B: ran default TIMEDOUT
run default
observer O entry mode=default
observer O exit mode=default
ran default TIMEDOUT
end
