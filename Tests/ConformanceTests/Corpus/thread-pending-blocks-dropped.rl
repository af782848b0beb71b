topic thread
title Blocks never run are released with the loop
slow 2
block B1 ctx
thread A:
spawn B
join B
note joined
thread B:
perform B1 default
note leaving
--- golden
B: note leaving
B: release B1
note joined
end
