topic query
title contains asks about one loop
slow 2
timer T delay=1000
source0 S
observer O all
thread A:
add T default; add S default; add O default
spawn B
join B
thread B:
contains T default; contains S default; contains O default
contains T default loop=A; contains S default loop=A; contains O default loop=A
--- golden
B: contains T default = no
B: contains S default = no
B: contains O default = no
B: contains T default = yes
B: contains S default = yes
B: contains O default = yes
end
