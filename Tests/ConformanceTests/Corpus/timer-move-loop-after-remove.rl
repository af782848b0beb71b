topic timer
title After removal from all its modes a timer may join another loop
slow 2
timer T delay=60
thread A:
add T default; add T m1
remove T default; remove T m1
spawn B
join B
contains T default
thread B:
add T default
contains T default
run default 1 no
--- golden
B: contains T default = yes
B: run default
B: timer T mode=default
B: ran default FINISHED
contains T default = no
end
