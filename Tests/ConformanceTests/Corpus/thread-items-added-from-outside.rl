topic thread
title Another thread adds items to a sleeping loop
slow 2
source0 K
timer T delay=70
source1 P
thread A:
spawn B
sleep 30
add T default loop=B; add P default loop=B
contains T default loop=B; contains T default
sleep 80
write P
join B
on P: stop
thread B:
add K default
run default 2 no
--- golden
B: run default
contains T default = yes
contains T default = no
B: timer T mode=default
B: source1 P mode=default
B: ran default STOPPED
end
