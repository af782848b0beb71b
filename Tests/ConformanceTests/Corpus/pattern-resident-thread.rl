topic pattern
title The resident thread: run repeatedly until told to quit
slow 2
source1 P
block W
block Quit
on Quit: stop
thread A:
spawn B
sleep 30
perform W default loop=B; wake loop=B
sleep 30
perform W default loop=B; wake loop=B
sleep 30
perform Quit default loop=B; wake loop=B
join B
thread B:
add P default
until Quit 1: run default huge yes
note leaving
--- golden
B: run default
B: block W mode=default
B: block W mode=default
B: block Quit mode=default
B: ran default STOPPED
B: note leaving
end
