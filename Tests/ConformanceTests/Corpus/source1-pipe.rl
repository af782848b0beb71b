topic source1
title A pipe read end used as a port: eight bytes are consumed per callback
slow 2
trace callouts
source1 P port=pipe
at 40: write P
on P: pending P; stop
add P default
run default 2 no
--- golden
run default
source1 P mode=default
pending P = no
ran default STOPPED
end
