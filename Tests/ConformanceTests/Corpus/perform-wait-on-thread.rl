topic perform
title The resident thread of the tutorials: an empty port and a flag that a perform clears
thread A:
block K
observer O entry|exit
spawn B
sleep 60
performwait K default loop=B
join B
note the perform has run
thread B:
source1 P
add P default ; add O default
until K 1 : run default 1 yes stamp
note over
--- right
B: run default
B: observer O entry mode=default
B: block K mode=default
B: observer O exit mode=default
B: ran default HANDLED at=50
B: note over
note the perform has run
end
